import { CatalogError, type ErrorCode } from '../../base/errors.ts'
import { insteadOfAggregates } from '../predicate/syntax/aggregates.ts'
import { ProcessEnded } from './isolated/ended.ts'

/* Lance's errors are texts alone. What they say is told by their words, without the places in its sources. */

/** What an error of Lance means, by its words. The first that fits counts. */
const meanings: readonly (readonly [words: RegExp, code: ErrorCode])[] = [
  [/feature flags?|not compatible|newer version of Lance|upgrade (?:your|to|lance)/i, 'InvalidTableState'],
  [/Column \S+ (?:does not exist in (?:the )?dataset|not found)/i, 'TableColumnNotFound'],
  [/Index name \S+ already exists/i, 'TableIndexAlreadyExists'],
  [/Cast error|Divide by zero|Arithmetic overflow/i, 'InvalidInput'],
  [/Commit conflict|Retryable commit|concurrent transaction/i, 'ConcurrentModification'],
  [
    /Invalid (?:user )?(?:input|argument)|Schema error|planning|LanceError\((?:Schema|Index)\)/i,
    'InvalidInput',
  ],
  // Of the work on values, and not of files.
  [/Assertion failed/i, 'InvalidInput'],
  [
    /LanceError\(IO\)|not found|No such file|corrupt|protobuf|Object at location|\b(?:Io|Ipc) error|Arrow file does not contain|Unable to get root|global buffers|capacity overflow|flatbuffer/i,
    'InvalidTableState',
  ],
  [
    /Execution error|Arrow error|Compute error|DataFusion|not (?:yet )?implemented|not supported/i,
    'InvalidInput',
  ],
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
  if (code === 'InvalidTableState') return cannotOpen(error, what)
  const does = /Internal|ConcurrentModification/.test(code) ? 'failed at' : 'refuses what was asked of'
  const hint = /\bpanic/i.test(text) ? ' Its files may be damaged: verify looks at them.' : ''
  return new CatalogError(code, `Lance ${does} ${what}: ${text}${hint}`, { cause: error })
}

/** The error for a dataset whose files Lance cannot read. */
export function cannotOpen(error: unknown, what: string): Error {
  if (error instanceof CatalogError || error instanceof ProcessEnded) return error
  return new CatalogError(
    'InvalidTableState',
    `Lance cannot read ${what}: ${plainText(error)} Its files are missing or damaged, or newer than the installed package @lancedb/lancedb. Bring them back, install a newer one, or read another version.`,
    { cause: error },
  )
}

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
