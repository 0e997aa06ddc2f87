/**
 * A module that is loaded when it is first asked for. Kept, as loaders that are hooked into Node take half a millisecond to
 * find a module again. A call at the top of a file is marked as pure: else bundles hold modules that nobody asks for.
 */
export function loaded<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined
  return () => {
    loading ??= load().catch((error) => {
      loading = undefined
      throw error
    })
    return loading
  }
}
