import { describe, expect } from 'vitest'
import type { LocalCatalog } from '../../../src/tabularium/index.ts'
import { catalogSuite } from '../../../src/testing/suites/catalog-suite.ts'
import { lanceIt } from '../../support/lance-package.ts'

/** Rules that Lance does not keep, with what it says. docs/lance.md lists them. */
const differs: Readonly<Record<string, RegExp>> = {
  'rows.fields': /Lance cannot read a table with a column named/,
  'rows.update': /which the update sets too/,
  'rows.computed': /is not supported SQL in lance/,
  'columns.add': /columns of expressions and columns of nulls/,
  // A clone keeps the number of its version.
  'rows.clone': /\+ +3\n- +1\n/,
}

/** The rules of a catalog, for tables of Lance. The catalog is opened once, for all of them. */
export function lanceRules(name: string, open: () => Promise<LocalCatalog>): void {
  let opened: Promise<LocalCatalog> | undefined
  catalogSuite(
    {
      describe,
      test: (title, body) => {
        const difference = differs[title.slice(0, title.indexOf(' ('))]
        lanceIt(title, () => (difference ? expect(body()).rejects.toThrow(difference) : body()))
      },
    },
    async () => {
      opened ??= open()
      return new Proxy(await opened, {
        get: (target, member) => (member === 'close' ? undefined : Reflect.get(target, member)),
      })
    },
    { name },
  )
}
