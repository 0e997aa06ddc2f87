import { unsupported } from '../base/errors.ts'

/** A function that throws `Unsupported` for `what`, which needs files, threads, sockets or a database. */
export function unavailable(what: string): (...given: never) => never {
  return () => {
    throw unsupported(
      `${what} needs Node or Bun.`,
      "In browsers and edge runtimes, open 'memory:', the URL of a server (https://…), or a store and a content of your own.",
    )
  }
}
