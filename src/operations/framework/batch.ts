import { CatalogError } from '../../errors.ts'
import { isRetryable } from '../../transactions/retry.ts'

/**
 * Runs the items of a batch in order and answers with their results. The error of an item says which one failed, and
 * that nothing was committed.
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
    if (!(error instanceof CatalogError) || isRetryable(error)) throw error
    throw new CatalogError(
      error.code,
      `${list}[${index}] failed, so nothing was committed: ${error.message}`,
      { cause: error },
    )
  }
  return results
}
