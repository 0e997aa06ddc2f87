/** A promise with a function that resolves it. */
export function gate<T = void>(): { readonly open: (value: T) => void; readonly opened: Promise<T> } {
  let open = (_: T) => {}
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { open, opened }
}
