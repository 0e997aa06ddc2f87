/* What a catalog and the process of its Lance say to each other. Arrow bytes travel beside the messages. */

/** Calls of methods of a handle, each of what the one before answered, or else of the same. */
export interface Call {
  readonly id: number
  /** The handle, by the id of the call that made it; 0 is the package. */
  readonly on: number
  /** None asks for the next batches of a query. */
  readonly steps: readonly Step[]
  /** Whether the answer stays there, as a handle of this call's id. */
  readonly keeps: boolean
}

export type Step = readonly [method: string, args: readonly unknown[]]

/** Batches of an answer, one after the other in the bytes beside the message. */
export interface Portion {
  /** Where each one begins and ends. */
  readonly batches: readonly (readonly [from: number, to: number])[]
  /** Whether there are no more. */
  readonly isLast: boolean
}

/** Says that a handle is of no more use. */
export interface Release {
  readonly releases: number
}

export type ToProcess = Call | Release

/** The end of a call. Its value may be the bytes beside the message. */
export interface Answer {
  readonly id: number
  readonly value?: unknown
  /** In place of a value: batches of a query. */
  readonly portion?: Portion
  readonly error?: { readonly message: string; readonly code?: string }
  /** Bytes of memory of the process. */
  readonly memory: number
}

/** Says that the process takes calls: the package is loaded, or cannot be. */
export interface Started {
  readonly started: true
}

/** Says that the process ends itself, since it took too much memory. */
export interface TooMuchMemory {
  readonly tooMuchMemory: number
}

export type FromProcess = Answer | Started | TooMuchMemory

/*
 * Values that exist in the process only are told as maps: no argument of a request is one.
 */

/** A value that the package makes there. */
export interface Recipe {
  /** Such as `Session` or `Index.btree`. */
  readonly name: string
  readonly args: readonly unknown[]
  /** Whether its native part is meant. */
  readonly isInner: boolean
}

const recipe = 'recipe'
const bytes = 'bytes'

/** The argument that stands for the bytes beside the message. */
export const besides: ReadonlyMap<string, unknown> = new Map([[bytes, true]])

export const recipeOf = (made: Recipe): ReadonlyMap<string, Recipe> => new Map([[recipe, made]])

/** A value with what it stands for. */
export function revived(
  value: unknown,
  given: Uint8Array | undefined,
  make: (made: Recipe) => unknown,
): unknown {
  if (value instanceof Map) {
    const found = value.get(recipe) as Recipe | undefined
    if (found === undefined) return given
    return make({ ...found, args: found.args.map((arg) => revived(arg, given, make)) })
  }
  if (Array.isArray(value)) return value.map((one) => revived(one, given, make))
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype)
    return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, revived(one, given, make)]))
}
