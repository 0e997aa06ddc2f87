import { rm } from 'node:fs/promises'
import { afterAll, describe, expect } from 'vitest'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { catalogSuite } from '../../../src/testing/suites/catalog-suite.ts'
import { temporaryDirectory } from '../../support/folders.ts'
import { howLanceRuns, lanceIt } from '../../support/lance-package.ts'

/* The rules of a catalog, for tables of Lance. */

/** Rules that Lance does not keep, with what it says. docs/lance.md lists them. */
const differs: Readonly<Record<string, RegExp>> = {
  'rows.fields': /cannot contain `\.`/,
  'rows.update': /which the update sets too/,
  'rows.computed': /is not supported SQL in lance/,
  'columns.add': /columns of expressions and columns of nulls/,
  // A clone keeps the number of its version.
  'rows.clone': /\+ +3\n- +1\n/,
}

let opened: LocalCatalog | undefined
let folder: string | undefined
afterAll(async () => {
  await opened?.close()
  if (folder !== undefined) await rm(folder, { recursive: true })
})

catalogSuite(
  {
    describe,
    test: (title, body) => {
      const difference = differs[title.slice(0, title.indexOf(' ('))]
      lanceIt(title, () => (difference ? expect(body()).rejects.toThrow(difference) : body()))
    },
  },
  async () => {
    folder ??= await temporaryDirectory()
    opened ??= await openCatalog(`${folder}/catalog`, { format: 'lance', ...howLanceRuns })
    return new Proxy(opened, {
      get: (target, name) => (name === 'close' ? undefined : Reflect.get(target, name)),
    })
  },
  { name: 'a catalog with tables of Lance' },
)
