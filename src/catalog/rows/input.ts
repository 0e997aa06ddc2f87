import type { Table } from '@uwdata/flechette'
import * as v from 'valibot'
import { invalid } from '../../base/errors.ts'
import { isRowsSource, type RowsSource } from '../../base/model/rows-source.ts'
import { once } from '../../base/once.ts'
import { requestMemory } from '../../base/scheduling/request-memory.ts'
import type { RowsInput, SchemaInput } from '../../engine/arrow/types.ts'
import type { ArrowInput, ArrowRows, WorkOptions } from '../../engine/table/index.ts'
import type { PendingRows } from './change-types.ts'
import type { RowsContext, RowsOptions } from './context.ts'

/** Rows as callers give them: Arrow IPC bytes, an Arrow table, or an array of row objects. */
export const rowsInput = v.custom<RowsInput>(
  (given) => typeof given === 'object' && given !== null && !isRowsSource(given),
  'must be Arrow IPC bytes, an Arrow table or an array of row objects',
)

/** The same, or an iterable of rows that are read while they are written. */
export const streamedRowsInput = v.custom<RowsInput | RowsSource>(
  (given) => typeof given === 'object' && given !== null,
  'must be Arrow IPC bytes, an Arrow table, an array of row objects, or an iterable of such parts',
)

/** Rows as columns: all of them, or those that arrive one after the other. */
export type Rows = ArrowRows

/** Whether rows arrive while they are written. They are read once. */
export function arrive(rows: Rows): boolean {
  return 'tables' in rows
}

const tableEngine = /* @__PURE__ */ once(() => import('../../engine/table/index.ts'))

type ArrowOptions = NonNullable<Parameters<typeof import('../../engine/table/index.ts').toArrowTable>[1]>

/** The columns that row objects have: an Arrow schema, the protocol's JSON form of one, or Arrow IPC bytes. */
export const schemaInput = v.nullish(
  v.custom<SchemaInput>(
    (given) =>
      given instanceof Uint8Array || (typeof given === 'object' && given !== null && 'fields' in given),
    'must be an Arrow schema, its JSON form with "fields", or Arrow IPC bytes that have it',
  ),
)

/** An insert of more bytes or rows is not small. */
const mostOfSmall = 256 * 1024
const mostRowsOfSmall = 1_024

/** Whether rows take hardly any time to check and to write. */
export function areSmall(data: RowsInput | RowsSource): boolean {
  if (Array.isArray(data)) return data.length <= mostRowsOfSmall
  return (data instanceof Uint8Array || data instanceof ArrayBuffer) && data.byteLength <= mostOfSmall
}

/** What the rows to check are for. */
export interface CheckOptions {
  /** Whether to leave out columns that no row object has. */
  readonly partial?: boolean
  /** Whether columns of the type null take the types of the rows' values, or first those of another schema. */
  readonly takesTypes?: boolean | SchemaInput
}

/** The most row objects that are converted before anything is recorded. More of them take a while. */
const fewRows = 4_096

/**
 * Checks and decodes rows, with their target columns when those are known. Many row objects are checked when they are
 * built, as a part of the transaction, so that it can be canceled and reports progress.
 */
export function checkRows(
  core: RowsContext,
  input: RowsInput,
  schema: SchemaInput | null | undefined,
  options: RowsOptions,
  more?: CheckOptions,
): Promise<PendingRows<Table>>
export function checkRows(
  core: RowsContext,
  input: RowsInput | RowsSource,
  schema: SchemaInput | null | undefined,
  options: RowsOptions,
  more?: CheckOptions,
): Promise<PendingRows>
export async function checkRows(
  core: RowsContext,
  input: RowsInput | RowsSource,
  schema: SchemaInput | null | undefined,
  options: RowsOptions,
  more: CheckOptions = {},
): Promise<PendingRows> {
  if (isRowsSource(input)) return streamedRows(core, input, schema, options, more)
  // Both are checked further when they are read.
  const data = input as ArrowInput
  const bytes = data instanceof Uint8Array || data instanceof ArrayBuffer ? data.byteLength : 0
  const { arrowBytes, decodedBytes } = core.settings
  if (bytes > arrowBytes) {
    throw invalid(
      `data is ${bytes.toLocaleString('en')} bytes long; ${arrowBytes.toLocaleString('en')} are the most in one request. Insert it in parts.`,
    )
  }
  const { toArrowTable } = await tableEngine()
  const given =
    schema == null ? {} : ({ schema, ...more } as Pick<ArrowOptions, 'schema' | 'partial' | 'takesTypes'>)
  if (Array.isArray(data) && data.length > fewRows) {
    return {
      build: async (work) => {
        const [building, rest] = halves(work)
        return { rows: await toArrowTable(data, { ...given, ...building }), work: rest }
      },
    }
  }
  const hold = options[requestMemory]?.hold
  const rows = await toArrowTable(data, {
    ...given,
    signal: options.signal,
    maxDecodedBytes: decodedBytes,
    reserve: hold && ((more) => (more > uncounted ? hold.take(more, options.signal) : undefined)),
  })
  return { build: async (work) => ({ rows, work }) }
}

/** Rows that are read when they are written, as a part of the transaction. */
async function streamedRows(
  { settings }: RowsContext,
  source: RowsSource,
  schema: SchemaInput | null | undefined,
  options: RowsOptions,
  { takesTypes }: CheckOptions,
): Promise<PendingRows> {
  const { openRowStream } = await tableEngine()
  const hold = options[requestMemory]?.hold
  return {
    build: async (work) => {
      const { signal } = work
      const rows = await openRowStream(source, {
        schema: (schema ?? undefined) as ArrowOptions['schema'],
        takesTypes: takesTypes as ArrowOptions['takesTypes'],
        signal,
        maxMessageBytes: settings.arrowBytes,
        maxDecodedBytes: settings.decodedBytes,
        reserve: hold && ((bytes) => (bytes > hold.held ? hold.take(bytes - hold.held, signal) : undefined)),
      })
      return { rows, work }
    },
  }
}

/** Fewer bytes are not counted, because the number of requests bounds them. */
const uncounted = 64 * 1024

/** The work in two halves, each of which goes over all rows. */
function halves({ signal, onProgress }: WorkOptions): [WorkOptions, WorkOptions] {
  if (onProgress === undefined) return [{ signal }, { signal }]
  const half = (done: number): WorkOptions => ({
    signal,
    onProgress: ({ rowsDone, rowsTotal }) =>
      onProgress({ rowsDone: Math.floor((done * rowsTotal + rowsDone) / 2), rowsTotal }),
  })
  return [half(0), half(1)]
}
