import type { Connection, Table } from '@lancedb/lancedb'
import type { Field, FixedSizeList, TypeMap } from 'apache-arrow'
import type { Draw } from '../../../../support/draw.ts'

/*
 * Random calls of LanceDB's client, each on a table of LanceDB itself and on one of a server. Both must answer the same.
 */

type Lance = typeof import('@lancedb/lancedb')
type Arrow = typeof import('apache-arrow')
type Side = 'local' | 'remote'
type Kind = 'int' | 'float' | 'text' | 'vector' | 'list' | 'struct' | 'bool' | 'date' | 'other'

interface Column {
  readonly name: string
  readonly kind: Kind
  readonly field: Field
  make(): unknown
}

/** The two tables on which the calls are made. */
interface Pair {
  readonly local: Table
  readonly remote: Table
  readonly columns: readonly Column[]
  /** The columns with an index of words. */
  readonly texts: readonly string[]
}

const words = ['cat', 'dog', 'car', 'tree', 'blue', 'größe', '猫', "it's"]
const dimension = 4
const quoted = (name: string) => (/^[a-z]+$/.test(name) ? name : `\`${name}\``)

/** What differed: the call, and both answers or errors. */
export interface Difference {
  readonly call: string
  readonly local: string
  readonly remote: string
}

export class Flows {
  readonly differences: Difference[] = []
  /** How many calls of each kind both answered. */
  readonly answered = new Map<string, number>()
  readonly #lance: Lance
  readonly #arrow: Arrow
  readonly #connections: Readonly<Record<Side, Connection>>
  readonly #draw: Draw
  readonly #pool: readonly Column[]
  #pair: Pair | undefined
  #id = 0n
  #tables = 0
  #names = 0

  constructor(lance: Lance, arrow: Arrow, connections: Readonly<Record<Side, Connection>>, draw: Draw) {
    this.#lance = lance
    this.#arrow = arrow
    this.#connections = connections
    this.#draw = draw
    this.#pool = this.#columns()
  }

  /** Makes so many random calls, and compares the tables at the end. */
  async run(calls: number): Promise<void> {
    const kinds = Object.entries(this.#calls).flatMap(([name, [weight]]) => Array<string>(weight).fill(name))
    for (let i = 0; i < calls; i++) {
      if (this.#pair === undefined || this.#draw.chance(0.04)) await this.create()
      if (this.#pair !== undefined) await this.#calls[this.#draw.oneOf(kinds)]![1](this.#pair)
    }
    await this.#compare('end', (table) => this.#rows(table.query()))
  }

  /** Makes a call on both tables, for which the calls that follow are. */
  async #compare(
    call: string,
    work: (table: Table, side: Side) => Promise<unknown>,
    tables: Readonly<Record<Side, Table>> | undefined = this.#pair,
  ): Promise<boolean> {
    const ended = async (side: Side) => {
      try {
        return { text: JSON.stringify(await work(tables?.[side] as Table, side)) }
      } catch (error) {
        return { text: `Error: ${(error as Error).message.slice(0, 400)}`, failed: true }
      }
    }
    const [local, remote] = await Promise.all([ended('local'), ended('remote')])
    if (local.failed && remote.failed) {
      // Whoever is refused is told why.
      if (!/ 50\d |Hit retry limit/.test(remote.text)) return false
    } else if (local.text === remote.text) {
      const [kind] = call.split(' ')
      this.answered.set(kind!, (this.answered.get(kind!) ?? 0) + 1)
      return true
    }
    this.differences.push({ call, local: local.text ?? '', remote: remote.text ?? '' })
    // What follows would differ, too.
    this.#pair = undefined
    return false
  }

  async create(): Promise<void> {
    const draw = this.#draw
    const [vector, text] = [this.#pool[4]!, this.#pool[2]!]
    const columns = [...new Set([vector, text, ...this.#pool.filter(() => draw.chance(0.4))])]
    const count = draw.oneOf([0, 1, 12, 300])
    const rows = this.#rowsOf(count, columns)
    const name = `${draw.oneOf(['t', 'with-dash', 'dot.ted', 'UPPER', 'a_b'])}${++this.#tables}`
    const made: Partial<Record<Side, Table>> = {}
    const isMade = await this.#compare(
      `create ${name} of ${columns.map((one) => one.name)}`,
      async (_, side) => {
        const table = await this.#connections[side].createTable(name, rows)
        made[side] = table
        return [await table.countRows(), await table.version(), fieldsOf(await table.schema())]
      },
    )
    this.#pair = isMade ? { local: made.local!, remote: made.remote!, columns, texts: [] } : undefined
  }

  /** The calls, each with its weight. */
  readonly #calls: Readonly<
    Record<string, readonly [weight: number, call: (pair: Pair) => Promise<unknown>]>
  > = {
    add: [
      5,
      ({ columns }) => {
        const some = this.#draw.chance(0.5) ? columns : columns.filter(() => this.#draw.chance(0.8))
        const rows = this.#rowsOf(this.#draw.below(6), some)
        return this.#compare(`add ${rows.numRows}`, async (table) => [
          await table.add(rows),
          await table.countRows(),
        ])
      },
    ],
    update: [
      3,
      (pair) => {
        const { name, kind } = this.#draw.oneOf(pair.columns)
        const [value, expression] =
          kind === 'int'
            ? [7, `${quoted(name)} + 1`]
            : kind === 'text'
              ? ['cat', `concat(${quoted(name)}, ' x')`]
              : kind === 'vector'
                ? [[1, 2, 3, 4], '[1.0, 2.0, 3.0, 4.0]']
                : [null, 'NULL']
        const how = this.#draw.chance(0.5)
          ? { values: { [name]: value as never } }
          : { valuesSql: { [name]: expression as string } }
        const where = this.#predicate(pair)
        return this.#compare(`update ${JSON.stringify(how)} where ${where}`, (table) =>
          table.update({ ...how, where } as never),
        )
      },
    ],
    delete: [
      3,
      (pair) => {
        const predicate = `(${this.#predicate(pair)}) AND id % 3 = 0`
        return this.#compare(`delete ${predicate}`, (table) => table.delete(predicate))
      },
    ],
    merge: [
      4,
      ({ columns }) => {
        const [updates, inserts, deletes] = [
          this.#draw.chance(0.6),
          this.#draw.chance(0.6),
          this.#draw.chance(0.3),
        ]
        const first = BigInt(this.#draw.below(Number(this.#id) + 1))
        const rows = this.#rowsOf(1 + this.#draw.below(4), columns, first)
        return this.#compare(
          `merge ${rows.numRows} from ${first} ${updates} ${inserts} ${deletes}`,
          async (table) => {
            let merge = table.mergeInsert('id')
            if (updates)
              merge = merge.whenMatchedUpdateAll(first % 2n === 0n ? { where: 'target.id > 3' } : undefined)
            if (inserts) merge = merge.whenNotMatchedInsertAll()
            if (deletes) merge = merge.whenNotMatchedBySourceDelete({ where: 'id > 10' })
            const { numAttempts: _, ...counts } = await merge.execute(rows)
            return counts
          },
        )
      },
    ],
    columns: [
      2,
      async (pair) => {
        const draw = this.#draw
        const [{ name }, fresh] = [
          draw.oneOf(pair.columns),
          `${draw.oneOf(['neu ', 'Ärger'])}${++this.#names}`,
        ]
        const change = draw.oneOf<(table: Table) => Promise<unknown>>([
          (table) => table.addColumns([{ name: fresh, valueSql: 'id + 1' }]),
          (table) => table.addColumns([{ name: fresh, valueSql: 'CAST(id AS DECIMAL(10, 2))' }]),
          (table) => table.alterColumns([{ path: name, rename: fresh }]),
          (table) => table.alterColumns([{ path: name, dataType: 'string' }]),
          (table) => table.dropColumns([name]),
          (table) => table.updateFieldMetadata([{ path: name, metadata: { [fresh]: 'ß' } }]),
        ])
        if (
          await this.#compare(`columns ${change} ${name} ${fresh}`, async (table) => [
            await change(table),
            fieldsOf(await table.schema()),
          ])
        )
          await this.#look()
      },
    ],
    index: [
      5,
      async (pair) => {
        const { Index } = this.#lance
        const draw = this.#draw
        const [kind, type] = draw.oneOf([
          ['int', 'btree'],
          ['int', 'bitmap'],
          ['list', 'labelList'],
          ['text', 'btree'],
          ['vector', 'ivfPq'],
          ['vector', 'ivfFlat'],
          ['vector', 'hnswSq'],
          ['text', 'fts'],
          ['text', 'fts'],
          ['text', 'fts'],
          ['float', 'fts'],
        ] as const)
        const column = draw.oneOf([...pair.columns.filter((one) => one.kind === kind), pair.columns[0]!]).name
        const [replace, name] = [draw.chance(0.7), draw.chance(0.2) ? 'my_idx' : undefined]
        const make = () =>
          type === 'fts'
            ? Index.fts({ withPosition: true })
            : type === 'ivfPq'
              ? Index.ivfPq({ numPartitions: 1, numSubVectors: 2 })
              : type === 'ivfFlat' || type === 'hnswSq'
                ? Index[type]({ numPartitions: 1 })
                : Index[type]()
        await this.#compare(`index ${type} ${column} ${replace} ${name}`, async (table) => {
          await table.createIndex(column, { config: make(), replace, ...(name && { name }) })
          return indexesOf(table)
        })
        await this.#look()
      },
    ],
    indexes: [
      2,
      async (pair) => {
        const names = (await pair.local.listIndices()).map((index) => index.name)
        const name = this.#draw.oneOf([...names, 'none'])
        if (this.#draw.chance(0.3)) await this.#compare(`dropIndex ${name}`, (table) => table.dropIndex(name))
        else
          await this.#compare('indexes', async (table) => [
            await indexesOf(table),
            await Promise.all(
              names.map(async (one) => {
                const { numIndexedRows, numUnindexedRows, indexType } = (await table.indexStats(one))!
                return [numIndexedRows, numUnindexedRows, indexType]
              }),
            ),
          ])
        await this.#look()
      },
    ],
    query: [
      8,
      (pair) => {
        const draw = this.#draw
        const where = this.#predicate(pair)
        const [limit, offset] = [this.#any([undefined, 0, 3, 8]), this.#any([undefined, undefined, 2])]
        const by =
          draw.chance(0.4) && draw.oneOf(pair.columns.filter(({ kind }) => /int|text|float/.test(kind))).name
        const columns = this.#selection(pair)
        const order = [
          { columnName: by as string, ascending: draw.chance(0.5), nullsFirst: draw.chance(0.5) },
          { columnName: 'id' },
        ]
        // LanceDB itself fails at these.
        if (by && (limit === 0 || !columns?.includes(by))) return this.count()
        return this.#compare(
          `query ${where} ${columns} ${limit} ${offset} ${by && JSON.stringify(order)}`,
          (table) => {
            let query = table.query().where(where)
            if (columns) query = query.select(columns)
            if (limit !== undefined) query = query.limit(limit)
            if (offset !== undefined) query = query.offset(offset)
            if (by) query = query.orderBy(order)
            return this.#rows(query, by !== false || limit !== undefined || offset !== undefined)
          },
        )
      },
    ],
    vector: [
      6,
      (pair) => {
        const draw = this.#draw
        const vector = this.#vector()
        const where = draw.chance(0.5) && this.#predicate(pair)
        const columns = this.#selection(pair)
        const [limit, post, offset] = [1 + draw.below(9), draw.chance(0.3), draw.chance(0.2) ? 2 : undefined]
        const distance = this.#any([undefined, 'l2', 'cosine', 'dot'] as const)
        const [range, two] = [draw.chance(0.2), draw.chance(0.1)]
        return this.#compare(
          `vector ${where} ${columns} ${limit} ${post} ${offset} ${distance} ${range} ${two}`,
          (table) => {
            let query = table.query().nearestTo(vector).column('vec').limit(limit)
            if (where) query = query.where(where)
            if (columns) query = query.select(columns)
            if (post) query = query.postfilter()
            if (offset !== undefined) query = query.offset(offset)
            if (distance) query = query.distanceType(distance)
            if (range) query = query.distanceRange(0.5, 4)
            if (two) query = query.addQueryVector([1, 1, 0, 0])
            return this.#rows(query)
          },
        )
      },
    ],
    text: [
      6,
      async (pair) => {
        const { texts } = pair
        if (texts.length === 0) return
        const draw = this.#draw
        const query = this.#words(texts)
        const [where, limit] = [draw.chance(0.4) && this.#predicate(pair), this.#any([undefined, 4])]
        const hybrid = draw.chance(0.25) && this.#vector()
        const reranker = await this.#lance.rerankers.RRFReranker.create()
        await this.#compare(`text ${query.queryType()} ${texts} ${where} ${limit} ${hybrid}`, (table) => {
          let asked = hybrid ? table.query().nearestTo(hybrid).column('vec').rerank(reranker) : table.query()
          asked = asked.fullTextSearch(query)
          if (where) asked = asked.where(where)
          if (limit !== undefined) asked = asked.limit(limit)
          return this.#rows(asked)
        })
      },
    ],
    count: [3, () => this.count()],
    take: [
      2,
      (pair) => {
        const ids = Array.from({ length: this.#draw.below(5) }, () => this.#draw.below(30))
        const [byOffset, columns] = [this.#draw.chance(0.5), this.#selection(pair) ?? ['id']]
        return this.#compare(`take ${byOffset} ${ids}`, (table) =>
          this.#rows((byOffset ? table.takeOffsets(ids) : table.takeRowIds(ids)).select(columns)),
        )
      },
    ],
    versions: [
      2,
      async (pair) => {
        const version = 1 + this.#draw.below((await pair.local.version()) + 1)
        const tag = this.#draw.oneOf(['v1', 'x.y', 'bad name'])
        await this.#compare(`tag ${tag} ${version}`, async (table) => {
          const tags = await table.tags()
          await tags.create(tag, version)
          return Object.entries(await tags.list())
            .map(([name, one]) => [name, one.version])
            .sort()
        })
        const [restores, byTag] = [this.#draw.chance(0.3), this.#draw.chance(0.3)]
        await this.#compare(`checkout ${version} ${restores}`, async (table) => {
          await table.checkout(byTag ? tag : version)
          if (restores) await table.restore()
          const versions = (await table.listVersions()).map((one) => one.version)
          return [
            await table.version(),
            versions,
            fieldsOf(await table.schema()),
            await this.#rows(table.query()),
          ]
        })
        await Promise.all([pair.local.checkoutLatest(), pair.remote.checkoutLatest()])
        await this.#look()
      },
    ],
    branch: [
      1,
      async (pair) => {
        if (pair.local.currentBranch() !== null) return
        const name = this.#draw.oneOf(['dev', 'feature/x', 'bad name'])
        const made: Partial<Record<Side, Table>> = {}
        const isMade = await this.#compare(`branch ${name}`, async (table, side) => {
          const branch = await (await table.branches()).create(name)
          made[side] = branch
          return [await branch.version(), branch.currentBranch(), await this.#rows(branch.query())]
        })
        if (isMade) this.#pair = { ...pair, local: made.local!, remote: made.remote! }
      },
    ],
  }

  count(): Promise<boolean> {
    const where = this.#predicate(this.#pair!)
    return this.#compare(`count ${where}`, (table) => table.countRows(where))
  }

  /** Looks which columns and indexes there are now. */
  async #look(): Promise<void> {
    const pair = this.#pair
    if (pair === undefined) return
    const { fields } = await pair.local.schema()
    const columns = fields.flatMap((field): Column[] => {
      if (field.name === 'id') return []
      const known = [...pair.columns, ...this.#pool].find(
        (one) => one.name === field.name && String(one.field.type) === String(field.type),
      )
      if (known) return [known]
      // Changed since: it stays, and its new rows have no values.
      return [
        {
          name: field.name,
          kind: 'other',
          field: new this.#arrow.Field(field.name, field.type, true),
          make: () => null,
        },
      ]
    })
    const texts = (await pair.local.listIndices()).flatMap(({ indexType, columns: [name] }) =>
      indexType === 'FTS' && columns.some((one) => one.name === name) ? [name!] : [],
    )
    this.#pair = { ...pair, columns, texts }
  }

  #rowsOf(count: number, columns: readonly Column[], first = this.#id) {
    const rows = Array.from({ length: count }, (_, i) => ({
      id: first + BigInt(i),
      ...Object.fromEntries(columns.map((one) => [one.name, one.make()])),
    }))
    if (first + BigInt(count) > this.#id) this.#id = first + BigInt(count)
    const { Field, Int64, Schema } = this.#arrow
    const schema = new Schema([new Field('id', new Int64(), true), ...columns.map((one) => one.field)])
    return this.#lance.makeArrowTable(rows, { schema })
  }

  /** The rows of an answer, sorted unless their order counts. */
  async #rows(
    query: { toArrow(): Promise<{ toArray(): unknown[] }> },
    isOrdered = false,
  ): Promise<readonly string[]> {
    const rows = (await query.toArrow()).toArray().map((row) => JSON.stringify(plain(row)))
    return isOrdered ? rows : rows.sort()
  }

  /** One of some items, undefined among them. */
  #any<T>(items: readonly T[]): T {
    return items[this.#draw.below(items.length)] as T
  }

  #vector(): number[] {
    return Array.from({ length: dimension }, () => Math.fround(this.#draw.next() * 4 - 2))
  }

  #selection({ columns }: Pair): string[] | undefined {
    return this.#draw.chance(0.4)
      ? undefined
      : ['id', ...columns.filter(() => this.#draw.chance(0.5)).map((one) => one.name)]
  }

  #predicate({ columns }: Pair, depth = 0): string {
    const draw = this.#draw
    if (depth < 2 && draw.chance(0.3))
      return `(${this.#predicate({ columns } as Pair, depth + 1)}) ${draw.oneOf(['AND', 'OR'])} (${this.#predicate({ columns } as Pair, depth + 1)})`
    const { name, kind } = draw.oneOf([{ name: 'id', kind: 'int' }, ...columns])
    const column = quoted(name)
    const none = `${column} IS NOT NULL`
    const forms: Partial<Record<string, string[]>> = {
      int: [`${column} > 4`, `${column} % 2 = 0`, `${column} IN (1, 2, 9)`, `${column} BETWEEN 2 AND 20`],
      float: [`${column} > 1`, `abs(${column}) >= 2.25`],
      text: [
        `${column} LIKE '%a%'`,
        `${column} = 'cat'`,
        `length(${column}) > 6`,
        `${column} LIKE '%it''s%'`,
      ],
      list: [`array_has(${column}, 'cat')`, `array_length(${column}) > 1`],
      struct: [`${column}.a > 2`, `${column}.b = 'cat'`],
      bool: [column, `NOT ${column}`],
      date: [`${column} > date '2000-01-01'`],
    }
    return draw.oneOf([none, `${column} IS NULL`, ...(forms[kind] ?? []), ...(forms[kind] ?? [])])
  }

  /** A query for words. The client sends no operator of a multi-match, so there is none. */
  #words(columns: readonly string[], depth = 0): InstanceType<Lance['MatchQuery']> {
    const { BooleanQuery, BoostQuery, MatchQuery, MultiMatchQuery, Occur, Operator, PhraseQuery } =
      this.#lance
    const draw = this.#draw
    const text = `${draw.oneOf(words)} ${draw.oneOf(words)}`
    const one = () => this.#words(columns, depth + 1)
    switch (draw.below(depth > 0 ? 2 : 5)) {
      case 0:
        return new MatchQuery(
          text,
          draw.oneOf(columns),
          draw.oneOf([{}, { operator: Operator.And }, { fuzziness: 1 }, { boost: 2 }]),
        )
      case 1:
        return new PhraseQuery(text, draw.oneOf(columns), { slop: draw.below(3) }) as never
      case 2:
        return new BoostQuery(one(), one(), { negativeBoost: 0.2 }) as never
      case 3:
        return new MultiMatchQuery(text, [...columns]) as never
      default:
        return new BooleanQuery([
          [draw.oneOf([Occur.Must, Occur.Should]), one()],
          [draw.oneOf([Occur.MustNot, Occur.Should]), one()],
        ]) as never
    }
  }

  #columns(): readonly Column[] {
    const { Field, ...types } = this.#arrow
    const draw = this.#draw
    const field = (name: string, type: unknown) => new Field(name, type as never, true) as Field
    const column = (kind: Kind, name: string, type: unknown, make: () => unknown, nulls = 0.15): Column => ({
      name,
      kind,
      field: field(name, type),
      make: () => (draw.chance(nulls) ? null : make()),
    })
    const text = () => Array.from({ length: 1 + draw.below(5) }, () => draw.oneOf(words)).join(' ')
    const vector = () =>
      new types.FixedSizeList(dimension, field('item', new types.Float32())) as FixedSizeList<TypeMap['x']>
    const struct = new types.Struct([field('a', new types.Int32()), field('b', new types.Utf8())])
    return [
      column('int', 'n', new types.Int32(), () => draw.below(20)),
      column('float', 'f', new types.Float64(), () =>
        draw.oneOf([0, -0, 1.5, -2.25, 1e300, Number.NaN, Number.POSITIVE_INFINITY]),
      ),
      column('text', 't', new types.Utf8(), text),
      column('text', 'body text', new types.Utf8(), text),
      column('vector', 'vec', vector(), () => this.#vector(), 0),
      column('list', 'tags', new types.List(field('item', new types.Utf8())), () =>
        Array.from({ length: draw.below(4) }, () => draw.oneOf(words)),
      ),
      // LanceDB for Node refuses nulls beside others within a struct.
      column('struct', 's', struct, () => ({ a: draw.below(5), b: draw.oneOf(words) }), 0),
      column('int', 'Größe', new types.Int64(), () => BigInt(draw.below(100))),
      column('other', 'bytes', new types.Binary(), () => Buffer.from(draw.oneOf(words))),
      column('date', 'd', new types.DateDay(), () => new Date(86_400_000 * draw.below(20_000))),
      column('other', 'u', new types.Uint8(), () => draw.below(256)),
      column(
        'other',
        'dict',
        new types.Dictionary(new types.Utf8(), new types.Int32()),
        () => draw.oneOf(words),
        0,
      ),
    ]
  }
}

const fieldsOf = ({
  fields,
}: {
  readonly fields: readonly {
    name: string
    type: unknown
    nullable: boolean
    metadata: Map<string, string>
  }[]
}) => fields.map(({ name, type, nullable, metadata }) => [name, String(type), nullable, [...metadata].sort()])

async function indexesOf(table: Table) {
  const found = (await table.listIndices()).map(({ name, indexType, columns }) => [name, indexType, columns])
  return found.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
}

/** A value as JSON, with the names of fields in order. Scores differ in their last digits. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return Number.isFinite(value) ? Number(value.toPrecision(5)) : String(value)
  if (typeof value !== 'object' || value === null) return value ?? null
  if (value instanceof Date) return value.getTime()
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array, plain)
  if ('toArray' in value && typeof value.toArray === 'function')
    return Array.from(value.toArray() as unknown[], plain)
  if ('toJSON' in value && typeof value.toJSON === 'function') return plain(value.toJSON())
  if (Array.isArray(value)) return value.map(plain)
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, one]): [string, unknown] => [name, plain(one)])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}
