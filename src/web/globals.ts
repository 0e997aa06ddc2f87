import { Buffer as Bytes } from 'buffer'

/*
 * Globals of Node, for runtimes that have those of the web alone. The build puts them in place of the names that the
 * sources use; what nobody uses is left out.
 */

export const Buffer = Bytes

export const process = {
  platform: 'web',
  env: {} as Readonly<Record<string, string | undefined>>,
  emitWarning: (warning: unknown) => console.warn(warning),
}

/** Engines without `await using` have no such symbol. Compilers that make it work there agree on this one. */
export const asyncDispose: symbol =
  (Reflect.get(Symbol, 'asyncDispose') as symbol | undefined) ?? Symbol.for('Symbol.asyncDispose')
