import { CatalogError } from '../../errors.ts'
import { isOvertaken } from '../../transactions/retry.ts'

/**
 * Does the items of a batch in order and answers with what came of each. The error of one says which item failed,
 * and that nothing of the batch was done.
 */
export function doEach<Item, Result>(
  list: string,
  items: readonly Item[],
  run: (item: Item, index: number) => Result,
): Result[] {
  const results = new Array<Result>(items.length)
  let index = 0
  try {
    for (; index < items.length; index++) results[index] = run(items[index]!, index)
  } catch (error) {
    if (!(error instanceof CatalogError) || isOvertaken(error)) throw error
    throw new CatalogError(
      error.code,
      `${list}[${index}] failed, so nothing was committed: ${error.message}`,
      { cause: error },
    )
  }
  return results
}
