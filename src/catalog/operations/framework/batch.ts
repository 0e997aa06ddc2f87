import { CatalogError } from '../../../base/errors.ts'
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
    throw ofItem(`${list}[${index}]`, error)
  }
  return results
}

/** The error of an item as the error of its batch, if the item is known. A retryable error stays retryable. */
export function ofItem(item: string | undefined, error: unknown): unknown {
  if (item === undefined || !(error instanceof CatalogError)) return error
  const message = `${item} failed, so nothing was committed: ${error.message}`
  if (isRetryable(error)) return error.ofItem(item, message)
  return new CatalogError(error.code, message, { cause: error })
}

/**
 * Prepares something for an item before its batch runs. A failure is thrown when the result is taken: items before this
 * one may fail first.
 */
export function prepared<T>(prepare: () => T): () => T {
  try {
    const result = prepare()
    return () => result
  } catch (error) {
    return failing(error)
  }
}

/** As {@link prepared}, for what takes a while. */
export async function preparedLater<T>(prepare: () => Promise<T>): Promise<() => T> {
  try {
    const result = await prepare()
    return () => result
  } catch (error) {
    return failing(error)
  }
}

function failing(error: unknown): () => never {
  return () => {
    throw error
  }
}
