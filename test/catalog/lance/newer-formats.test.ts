import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { knownFlags, manifestField } from '../../../src/catalog/lance/manifest-file.ts'
import { type Field, writeFields } from '../../../src/catalog/lance/protobuf.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { lanceIt } from '../../support/lance-package.ts'
import { numbered, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'
import { withFields } from './manifests.ts'
import { nameOf } from './support.ts'

limitEach(120)

/* Manifests of later releases of Lance: with features that are not known here, or another format of data files. */

const bit = fc.nat(63).map((shift) => 1n << BigInt(shift))
/** Known flags alone change what the manifest means, so each has a feature that is not known. */
const flags = fc
  .array(bit, { minLength: 1, maxLength: 3 })
  .map((bits) => bits.reduce((all, one) => all | one, 0n) & ~knownFlags)

const without = (fields: readonly Field[], ...left: number[]) =>
  fields.filter(({ number }) => !left.includes(number))

const calls = (id: string[]): readonly ((catalog: LocalCatalog) => Promise<unknown>)[] => [
  (catalog) => catalog.insertIntoTable({ id, data: numbered(1) }),
  (catalog) => catalog.insertIntoTable({ id, data: numbered(1), mode: 'Overwrite' }),
  (catalog) => catalog.updateTable({ id, updates: [['n', 'n + 1']] }),
  (catalog) => catalog.deleteFromTable({ id, predicate: 'n = 1' }),
  (catalog) => catalog.createTableScalarIndex({ id, column: 'n', index_type: 'BTREE' }),
  (catalog) => catalog.optimizeTable({ id }),
  (catalog) => catalog.restoreTable({ id, version: 1 }),
]

describe.each([
  ['in this process', {}],
  ['in a process of its own', { isolate: true }],
])('a table of a later release, by Lance %s', (_, lance) => {
  lanceIt('is read as far as its manifest allows, and is not changed', async () => {
    const catalog = closedAfterwards(
      await openCatalog(await freshFolder(), { format: 'lance', lance, managedVersioning: true }),
    )
    const rows = numbered(3)
    let number = 0
    await fc.assert(
      fc.asyncProperty(flags, flags, fc.boolean(), async (readers, writers, isOtherFormat) => {
        fc.pre(readers !== 0n || writers !== 0n || isOtherFormat)
        const id = [`t${++number}`]
        await catalog.createTable({ id, data: rows })
        const { location } = await catalog.describeTable({ id })
        const path = `${fileURLToPath(location)}/_versions/${nameOf(1)}`
        const { readerFlags, writerFlags, format } = manifestField
        const text = (number: number, held: string): Field => ({ number, value: Buffer.from(held) })
        const newer = withFields(await readFile(path), (fields) => [
          ...without(fields, readerFlags, writerFlags, ...(isOtherFormat ? [format] : [])),
          { number: readerFlags, value: readers },
          { number: writerFlags, value: readers | writers },
          ...(isOtherFormat
            ? [{ number: format, value: writeFields([text(1, 'lance'), text(2, '9.9')]) }]
            : []),
        ])
        await catalog.deregisterTable({ id })
        await writeFile(path, newer)
        await catalog.registerTable({ id, location })
        const canBeRead = readers === 0n && !isOtherFormat
        const read = await rowsOf(catalog, id).catch((error: unknown) => error)
        if (canBeRead) expect(read).toEqual(rows)
        else expect(read).toMatchObject({ code: 'InvalidTableState' })
        for (const call of calls(id)) {
          const error = await call(catalog).catch((error: unknown) => error)
          expect(error).toBeInstanceOf(CatalogError)
          expect(error).toMatchObject({
            code: 'InvalidTableState',
            message: expect.stringMatching(
              canBeRead
                ? /^Lance cannot write version 1 of t/
                : /^Lance cannot (?:read|write) version 1 of t/,
            ),
          })
        }
        expect((await catalog.listTableVersions({ id })).versions).toHaveLength(1)
        expect(Buffer.compare(await readFile(path), newer)).toBe(0)
      }),
      { numRuns: 12 * Number(process.env.HISTORY_RUNS ?? 1) },
    )
  })
})
