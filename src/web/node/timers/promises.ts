import { setImmediate as immediately } from '../../globals.ts'

/** Resolves after so many milliseconds; an abort of the signal rejects at once. */
function sleep(
  milliseconds: number,
  _value?: undefined,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

const turn = () => new Promise<void>((resolve) => immediately(resolve))

export { sleep as setTimeout, turn as setImmediate }
