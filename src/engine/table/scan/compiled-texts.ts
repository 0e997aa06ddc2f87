import {
  compileExpression,
  compilePredicate,
  type Predicate,
  type ValueExpression,
} from '../../predicate/index.ts'
import type { ColumnTask } from '../columns/make-columns.ts'
import { decodeTableSchema, type TableSchema } from '../format/table-schema.ts'
import type { ScanRequest } from './message.ts'
import { bindingSchema } from './row-columns.ts'

/** Most compiled texts that are kept. */
const mostKept = 64

/** A worker's cache of schemas, and of predicates and expressions for them. All fragments of a table share them. */
export class CompiledTexts {
  readonly #kept = new Map<string, unknown>()

  schemaOf(request: ScanRequest): TableSchema {
    const { schema, columns } = request
    return this.#keep(keyOf(request), () => decodeTableSchema(schema, columns))
  }

  /** Undefined for all rows. */
  predicateOf(request: ScanRequest): Predicate | undefined {
    const { predicate, now } = request
    if (predicate === undefined) return undefined
    const schema = this.schemaOf(request)
    return this.#keep(`${keyOf(request)} where ${now} ${predicate}`, () =>
      compilePredicate(predicate, bindingSchema(schema, predicate), now),
    )
  }

  expressionsOf(request: ScanRequest, { expressions }: ColumnTask): readonly ValueExpression[] {
    const schema = this.schemaOf(request)
    return expressions.map(({ text, now }) =>
      this.#keep(`${keyOf(request)} value ${now} ${text}`, () =>
        compileExpression(text, bindingSchema(schema, text), now),
      ),
    )
  }

  #keep<T>(key: string, make: () => T): T {
    const known = this.#kept.get(key) as T | undefined
    if (known !== undefined) return known
    const made = make()
    if (this.#kept.size >= mostKept) this.#kept.delete(this.#kept.keys().next().value!)
    this.#kept.set(key, made)
    return made
  }
}

function keyOf({ schema, columns }: ScanRequest): string {
  return `${schema} ${columns ? JSON.stringify(columns) : ''}`
}
