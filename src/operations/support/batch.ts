import { CatalogError } from '../../errors.ts'
import { isOvertaken } from './overtaken.ts'

/** Runs one item of a batch; its error says which item failed, and that nothing of the batch was done. */
export function atIndex<T>(list: string, index: number, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof CatalogError) || isOvertaken(error)) throw error
    throw new CatalogError(
      error.code,
      `${list}[${index}] failed, so nothing was committed: ${error.message}`,
      {
        cause: error,
      },
    )
  }
}
