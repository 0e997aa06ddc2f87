import { CatalogError, type ErrorCode } from '../../base/errors.ts'
import { insteadOfAggregates } from '../predicate/syntax/aggregates.ts'
import { ProcessEnded } from './isolated/ended.ts'

/* Lance's errors are texts alone. What they say is told by their words, without the places in its sources. */

/** What an error of Lance means, by its words. The first that fits counts. */
const meanings: readonly (readonly [words: RegExp, code: ErrorCode])[] = [
  [/feature flags?|not compatible|newer version of Lance|upgrade (?:your|to|lance)/i, 'InvalidTableState'],
  [/does not appear to be a Lance file|magic number does not match/i, 'InvalidTableState'],
  [/Column \S+ (?:does not exist in (?:the )?dataset|not found)/i, 'TableColumnNotFound'],
  [/Index name \S+ already exists/i, 'TableIndexAlreadyExists'],
  [/Cast error|Divide by zero|Arithmetic overflow/i, 'InvalidInput'],
  [/Commit conflict|Retryable commit|concurrent transaction/i, 'ConcurrentModification'],
  [
    /Invalid (?:user )?(?:input|argument)|Schema error|planning|LanceError\((?:Schema|Index)\)/i,
    'InvalidInput',
  ],
  // Of the work on values, and not of files.
  [/Assertion failed|Not enough rows to train/i, 'InvalidInput'],
  [
    /LanceError\(IO\)|not found|No such file|corrupt|protobuf|Object at location|\b(?:Io|Ipc) error|Arrow file does not contain|Unable to get root|global buffers|capacity overflow|flatbuffer/i,
    'InvalidTableState',
  ],
  [
    /Execution error|Arrow error|Compute error|DataFusion|not (?:yet )?implemented|not supported/i,
    'InvalidInput',
  ],
]

/** What the system refused Lance, by the number of its error, and what to do then. */
const ofSystem: readonly (readonly [number: RegExp, code: ErrorCode, text: string])[] = [
  [/\(os error 28\)/, 'ServiceUnavailable', 'the disk is full. Free some space and try again.'],
  [/\(os error 122\)/, 'ServiceUnavailable', 'the disk quota is used up. Free some space and try again.'],
  [
    /\(os error 2[34]\)/,
    'ServiceUnavailable',
    'too many files are open. Do less at once, or raise the limit, and try again.',
  ],
  [
    /\(os error 13?\)/,
    'PermissionDenied',
    'the user of this process may not do it. Change the owner or the permissions of its files.',
  ],
  [/\(os error 30\)/, 'PermissionDenied', 'the file system cannot be written. Use a location elsewhere.'],
]

/** The error of the catalog for one of Lance. `what` says what was read or changed. */
export function fromLance(error: unknown, what: string): unknown {
  if (error instanceof CatalogError || error instanceof ProcessEnded) return error
  const text = plainText(error)
  if (/\b(?:Aggregate|Window)Function\b/.test(text)) {
    const problem = `An aggregate or a window is not supported in what was asked of ${what}.`
    return new CatalogError('InvalidInput', `${problem} ${insteadOfAggregates}`, { cause: error })
  }
  const code = meanings.find(([words]) => words.test(text))?.[1] ?? 'Internal'
  if (code === 'InvalidTableState' || refusedBySystem(error)) return cannotOpen(error, what)
  const does = /Internal|ConcurrentModification/.test(code) ? 'failed at' : 'refuses what was asked of'
  const hint = /\bpanic/i.test(text) ? ' Its files may be damaged: verify looks at them.' : ''
  return new CatalogError(code, `Lance ${does} ${what}: ${text}${hint}`, { cause: error })
}

/** The error for a dataset whose files Lance cannot read. */
export function cannotOpen(error: unknown, what: string): Error {
  if (error instanceof CatalogError || error instanceof ProcessEnded) return error
  const system = refusedBySystem(error)
  if (system) return new CatalogError(system[1], `Lance fails at ${what}: ${system[2]}`, { cause: error })
  return new CatalogError(
    'InvalidTableState',
    `Lance cannot ${isForReaders.test(String(error)) ? 'write' : 'read'} ${what}: ${plainText(error)} Its files are missing or damaged, or newer than the installed package @lancedb/lancedb. Bring them back, install a newer one, or read another version.`,
    { cause: error },
  )
}

const refusedBySystem = (error: unknown) => ofSystem.find(([number]) => number.test(String(error)))

/** A version that this release of Lance may read, and not write. */
const isForReaders = /cannot be written by this version/

const placeInSources = /,? ?(?:at )?\/?[\w./~+-]*\/[\w.-]+\.rs:\d+(?::\d+)?/g
/** All that Lance knows of a table's columns. */
const dumpedSchema = / schema: Schema \{.*/s
const wrappers =
  /^(?:Failed to (?:execute query stream|get next batch from stream): |GenericFailure, |lance error: |Generic N\/A error: |Wrapped error: )+/

/** The first line of an error, without the places in Lance's sources and its list of causes. */
function plainText(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const [first = ''] = message.split(/\s*Caused by:/)
  const text = first
    .replace(placeInSources, '')
    .replace(dumpedSchema, '')
    .replace(/\s+/g, ' ')
    .trim()
    .replace(wrappers, '')
  const bounded = text.length > 600 ? `${text.slice(0, 600)}…` : text
  return /[.!?…]$/.test(bounded) ? bounded : `${bounded}.`
}
