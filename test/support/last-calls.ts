import { onTestFailed } from 'vitest'

/** How many of the last calls are told. */
const most = 8

/** The same object, whose last calls are told if the running test fails: which one it waits for, and since when. */
export function tellingCalls<T extends object>(called: T): T {
  const calls: { readonly name: string; readonly began: number; ended?: number }[] = []
  onTestFailed(() => {
    const now = performance.now()
    for (const { name, began, ended } of calls) {
      const millis = Math.round((ended ?? now) - began)
      console.error(`${name}: ${ended === undefined ? 'still waited for, ' : ''}${millis} ms`)
    }
  })
  return new Proxy(called, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...given: unknown[]) => {
        const call: (typeof calls)[number] = { name: String(name), began: performance.now() }
        calls.push(call)
        if (calls.length > most) calls.shift()
        const answer: unknown = Reflect.apply(value, target, given)
        if (answer instanceof Promise) {
          const end = () => {
            call.ended = performance.now()
          }
          answer.then(end, end)
        }
        return answer
      }
    },
  })
}
