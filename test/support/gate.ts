/** A promise that waits until somebody opens it, with the value that it then gives. */
export function gate<T = void>(): { readonly open: (value: T) => void; readonly opened: Promise<T> } {
  let open = (_: T) => {}
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { open, opened }
}
