/**
 * What is made when it is first asked for, and again after a failure. So modules are kept, as loaders that are hooked into
 * Node take half a millisecond to find one again. A call at the top of a file is marked as pure: else bundles hold modules
 * that nobody asks for.
 */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error) => {
      made = undefined
      throw error
    })
    return made
  }
}
