import { Buffer as Bytes } from 'buffer'

/*
 * Globals of Node, for runtimes with web globals only. The build injects those that the sources use.
 */

export const Buffer = Bytes

export const process = {
  platform: 'web',
  env: {} as Readonly<Record<string, string | undefined>>,
  emitWarning: (warning: unknown) => console.warn(warning),
}

/** Engines without `await using` lack this symbol. Compilers that polyfill it use the same key. */
export const asyncDispose: symbol =
  (Reflect.get(Symbol, 'asyncDispose') as symbol | undefined) ?? Symbol.for('Symbol.asyncDispose')
