import fc from 'fast-check'
import type * as v from 'valibot'
import { type OperationName, operations } from '../../../src/catalog/operations/index.ts'

/*
 * Requests of any operation, drawn from its schema. Fields that can lead somewhere are filled with what belongs to the
 * attacker, or with what belongs to the victim.
 */

/** What requests may name. */
export interface Known {
  readonly identifiers: readonly (readonly string[])[]
  readonly locations: readonly string[]
  readonly transactions: readonly string[]
  /** Names of tags, branches and the like, page tokens, and paths of manifests. */
  readonly texts: readonly string[]
}

export interface Attack {
  readonly operation: OperationName
  readonly request: Readonly<Record<string, unknown>>
  /** The transaction that it is to run in. */
  readonly transaction: string | undefined
}

type Schema = v.GenericSchema & {
  readonly wrapped?: Schema
  readonly pipe?: readonly (Schema | { readonly kind: string })[]
  readonly entries?: Readonly<Record<string, Schema>>
  readonly item?: Schema
  readonly options?: readonly unknown[]
  readonly literal?: unknown
}

/** Attacks by any operation of the record. */
export function attacks(names: readonly OperationName[], own: Known, victim: Known): fc.Arbitrary<Attack> {
  return fc.constantFrom(...names).chain((operation) =>
    fc.record({
      operation: fc.constant(operation),
      request: requestOf(operation, own, victim),
      transaction: fc.oneof(
        { weight: 8, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.constantFrom(...own.transactions) },
        { weight: 1, arbitrary: fc.constantFrom(...victim.transactions) },
      ),
    }),
  )
}

function requestOf(
  operation: OperationName,
  own: Known,
  victim: Known,
): fc.Arbitrary<Record<string, unknown>> {
  const { request } = operations[operation].definition
  const isAboutTransaction = /^\/v1\/transaction\/\{id\}/.test(operations[operation].definition.route.path)
  const mine = values(own, isAboutTransaction)
  const theirs = values(victim, isAboutTransaction)
  // Most requests begin at what is the attacker's own: others fail at the first question.
  const id = fc.oneof({ weight: 4, arbitrary: mine('id') }, { weight: 1, arbitrary: theirs('id') })
  const any = (field: string) =>
    fc.oneof({ weight: 3, arbitrary: mine(field) }, { weight: 1, arbitrary: theirs(field) })
  return objectOf(request as Schema, any).chain((fields) =>
    'id' in fields ? id.map((own) => ({ ...fields, id: own })) : fc.constant(fields),
  )
}

type Values = (field: string) => fc.Arbitrary<unknown>

/** What an operation wants of a field, by the field's name, to have something to do. */
const useful: Readonly<Record<string, readonly unknown[]>> = {
  predicate: ['n >= 0', 'n < 0', 'true'],
  filter: ['n >= 0'],
  expression: ['n + 1'],
  column: ['n'],
  columns: ['n', 's'],
  on: ['n'],
  path: ['n'],
  vector_column: ['n'],
  virtual_column: ['n'],
  name: ['new', 'dev', 'added'],
  tag: ['own', 'new'],
  branch: ['dev'],
  source_tag: ['own'],
  source_branch: ['dev'],
  from_branch: ['dev'],
  index_name: ['by-n'],
  index_type: ['BTREE'],
  new_table_name: ['new'],
  data_type: ['int64'],
  status: ['Canceled', 'Running'],
  mode: ['Overwrite', 'Create', 'ExistOk', 'Skip', 'Fail'],
  behavior: ['Cascade', 'Restrict'],
  updates: [['n', 'n + 1']],
  failure_code: ['Internal'],
}

/** Values of a field, by its name. */
function values(known: Known, isAboutTransaction: boolean): Values {
  const pick = <T>(from: readonly T[]) => fc.constantFrom(...from)
  return (field) => {
    if (field === 'id' && isAboutTransaction) return pick(known.transactions).map((id) => [id])
    if (/^(id|source|new_namespace_id)$/.test(field)) return pick(known.identifiers)
    if (/location/.test(field)) return pick(known.locations)
    if (/^(properties|metadata)$/.test(field)) return pick(known.texts).map((text) => ({ key: text }))
    const wanted = useful[field]
    const texts = pick([...known.texts, ...known.identifiers.map((id) => id.at(-1)!)])
    if (wanted !== undefined)
      return fc.oneof({ weight: 4, arbitrary: pick(wanted) }, { weight: 1, arbitrary: texts })
    return fc.oneof(
      texts,
      pick(known.transactions),
      pick(known.locations),
      pick(known.identifiers).map((id) => id.join('$')),
    )
  }
}

/** Fields that requests seldom need, and that keep most requests from being done. */
const seldom: ReadonlySet<string> = new Set(['identity', 'context', 'delimiter', 'schema', 'page_token'])

function objectOf({ entries = {} }: Schema, leaf: Values): fc.Arbitrary<Record<string, unknown>> {
  const names = Object.keys(entries)
  const optional = names.filter((name) => isOptional(entries[name]!))
  const all = Object.fromEntries(names.map((name) => [name, drawnFor(entries[name]!, name, leaf)]))
  // One of several members, as in batches.
  const alternatives = optional.length === names.length && !names.includes('id') && names.length > 1
  const chosen = alternatives
    ? fc.constantFrom(...names).map((name) => [name])
    : fc
        .subarray(optional)
        .chain((subset) =>
          fc
            .array(fc.nat(9), { minLength: subset.length, maxLength: subset.length })
            .map((draws) => [
              ...names.filter((name) => !optional.includes(name)),
              ...subset.filter((name, i) => draws[i]! < (seldom.has(name) ? 1 : 3)),
            ]),
        )
  return chosen.chain((kept) => {
    const members: Record<string, fc.Arbitrary<unknown>> = {}
    for (const name of kept) members[name] = all[name]!
    if (!alternatives && names.includes('id')) members.id = all.id!
    return fc.record(members)
  })
}

function isOptional({ type }: Schema): boolean {
  return type === 'optional' || type === 'nullish' || type === 'nullable'
}

function drawnFor(schema: Schema, field: string, leaf: Values): fc.Arbitrary<unknown> {
  if (schema.wrapped !== undefined) return drawnFor(schema.wrapped, field, leaf)
  if (field === 'data') return fc.constant([{ n: 1, s: 'own' }])
  if (/^(properties|metadata)$/.test(field)) return leaf(field)
  const later = schema.pipe?.filter((step) => step.kind === 'schema') as Schema[] | undefined
  if (later && later.length > 1) return drawnFor(later.at(-1)!, field, leaf)
  switch (schema.type) {
    case 'object':
    case 'loose_object':
    case 'strict_object':
      return objectOf(schema, leaf)
    case 'array':
      if (/^(id|source|new_namespace_id)$/.test(field)) return leaf(field)
      return fc.array(drawnFor(schema.item!, field, leaf), { minLength: 1, maxLength: 2 })
    case 'record':
      return leaf(field).map((value) => ({ key: String(value) }))
    case 'number':
      return field === 'version' ? fc.constantFrom(1, 2) : fc.constantFrom(1, 2, 0, 100)
    case 'boolean':
      return fc.boolean()
    case 'picklist':
      return fc.constantFrom(...schema.options!)
    case 'literal':
      return fc.constant(schema.literal)
    case 'union':
    case 'variant':
      return fc.oneof(...schema.options!.map((option) => drawnFor(option as Schema, field, leaf)))
    case 'tuple':
      return fc.tuple(leaf('column'), leaf('expression'))
    default:
      return leaf(field)
  }
}
