import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript-5'
import type * as v from 'valibot'
import { beforeAll, describe, expect, test } from 'vitest'
import { operationTypes, typesFile } from '../../../build/operation-types.ts'
import type { AnyOperation } from '../../../src/catalog/operations/framework/operation.ts'
import { type OperationName, operations } from '../../../src/catalog/operations/index.ts'
import { requestDoc, responseDoc } from '../../../src/catalog/operations/types/field-docs.ts'
import type { OperationMethods } from '../../../src/catalog/operations/types/methods.ts'
import { fieldsOf as commandFields } from '../../../src/cli/fields.ts'
import { openApiDocument } from '../../../src/server/index.ts'
import { fieldPaths } from '../../support/field-paths.ts'

/*
 * What an editor shows for the methods of a handle and for the fields of requests. The language service of
 * TypeScript 5 is asked, as TypeScript 7 has none for programs yet.
 */

type Definition<N extends OperationName> = (typeof operations)[N]['definition']
type Given<N extends OperationName> = v.InferInput<Definition<N>['request']>
type Answered<N extends OperationName> = v.InferOutput<Definition<N>['response']>
type Taken<N extends OperationName> = Parameters<OperationMethods[N]>[0]
/** What the plain function takes, as the schema does, with lists that may be readonly. */
type Called<N extends OperationName> = Parameters<(typeof operations)[N]>[1]
type Answer<N extends OperationName> = Awaited<ReturnType<OperationMethods[N]>>

/** The operations whose schemas take something else than the types say. */
type Differing = {
  [N in OperationName]: Given<N> extends Taken<N>
    ? Answered<N> extends Answer<N>
      ? Answer<N> extends Answered<N>
        ? never
        : [N, 'answers with more']
      : [N, 'answers with less']
    : [N, 'takes more']
}[Exclude<OperationName, 'batchCommitTables'>]

test('the types of requests and responses are those of the schemas', () => {
  // The compiler says which operation differs, where one does.
  const none: [Differing] extends [never] ? 'none' : Differing = 'none'
  expect(none).toBe('none')
})

/** The operations whose plain functions, and so whose schemas, refuse what their methods take. */
type Refusing = {
  [N in OperationName]: Taken<N> extends Called<N> ? never : N
}[OperationName]

test('the plain functions of operations take what the methods take', () => {
  const none: [Refusing] extends [never] ? 'none' : Refusing = 'none'
  expect(none).toBe('none')
})

const definitions = Object.values(operations).map(({ definition }) => definition as unknown as AnyOperation)

test('every field of a request or a response says what it is for', () => {
  const file = 'src/catalog/operations/types/field-docs.ts'
  const toAdd = definitions.flatMap((operation) => [
    ...fieldPaths(operation.request)
      .filter((path) => !requestDoc(operation, path.at(-1)!))
      .map((path) => `${file}: to requests, ${path.at(-1)}: '…', for ${operation.name}.${path.join('.')}`),
    ...fieldPaths(operation.response)
      .filter((path) => !responseDoc(operation, path.at(-1)!))
      .map((path) => `${file}: to responses, ${path.at(-1)}: '…', for ${operation.name}.${path.join('.')}`),
  ])
  expect(toAdd).toEqual([])
})

test('the OpenAPI document and the help of commands say the same', async () => {
  const { components } = await openApiDocument()
  const { properties } = (components as { schemas: Record<string, { properties: Record<string, object> }> })
    .schemas.RenameTableRequest!
  expect(properties.new_table_name).toMatchObject({ description: 'The new name of the table.' })
  const { parameters } = (await openApiDocument()).paths['/v1/table/{id}/version/list']!.get!
  expect(parameters.find(({ name }) => name === 'descending')!.description).toMatch(/^Whether the latest/)
  const notes = new Map(
    commandFields(operations.optimizeTable.definition).map(({ name, note }) => [name, note]),
  )
  expect(notes.get('target_rows')).toBe('most rows of a merged fragment (default: 1,048,576)')
  expect(notes.get('branch')).toBe('branch to work on (default: the main branch)')
})

describe('an editor', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const file = join(root, 'test/catalog/operations/hover.ts')
  const handles = { catalog: 'Catalog', tx: 'Transaction' }
  // What else they import is not looked at, which takes seconds. test/package/ asks for all handles.
  const generated = join(root, typesFile)
  const sources = ['catalog/handle/handle.ts', 'catalog/operations/types/inputs.ts', 'engine/arrow/types.ts']
  const isRead = (name: string) =>
    name === file || name === generated || sources.some((source) => name === join(root, 'src', source))
  const names = Object.keys(operations) as OperationName[]
  const title = (name: string) => name[0]!.toUpperCase() + name.slice(1)
  const text = `${[
    "import type { Catalog, Transaction } from '../../../src/catalog/handle/handle.ts'",
    "import type * as types from '../../../src/catalog/operations/types/methods.ts'",
    ...Object.entries(handles).map(([name, type]) => `declare const ${name}: ${type}`),
    ...Object.keys(handles).flatMap((handle) => names.map((name) => `${handle}.${name}`)),
    ...definitions.flatMap(({ name, request, response }) => [
      `declare const ${name}Request: types.${title(name)}Request`,
      ...Object.keys(entriesOf(request)).map((field) => `${name}Request.${field}`),
      `declare const ${name}Response: types.${title(name)}Response`,
      ...Object.keys(entriesOf(response)).map((field) => `${name}Response.${field}`),
    ]),
    'void catalog.renameTable({ id: [], new_table_name: "" })',
    'void tx.describeTable({ id: [], load_detailed_metadata: true })',
  ].join('\n')}\n`
  const textOf = (name: string) =>
    name === file ? text : name === generated ? operationTypes() : readFileSync(name, 'utf8')
  let service: ts.LanguageService

  beforeAll(() => {
    const options: ts.CompilerOptions = {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.NodeNext,
      allowImportingTsExtensions: true,
      noEmit: true,
      strict: true,
      lib: ['lib.es2023.d.ts'],
      types: [],
    }
    service = ts.createLanguageService({
      getScriptFileNames: () => [file],
      getScriptVersion: () => '1',
      getScriptSnapshot: (name) => {
        const isThere = isRead(name) || name.startsWith(dirname(ts.getDefaultLibFilePath(options)))
        if (!isThere) return undefined
        return ts.ScriptSnapshot.fromString(textOf(name))
      },
      getCurrentDirectory: () => dirname(file),
      getCompilationSettings: () => options,
      getDefaultLibFileName: (given) => ts.getDefaultLibFilePath(given),
      fileExists: isRead,
      readFile: (name) => (isRead(name) ? textOf(name) : undefined),
    })
  })

  /** What is shown where the name after the last dot of the code stands. */
  const shown = (code: string, at = code.lastIndexOf('.') + 1) => {
    const info = service.getQuickInfoAtPosition(file, text.indexOf(`${code}\n`) + at)
    return {
      type: ts.displayPartsToString(info?.displayParts),
      doc: ts.displayPartsToString(info?.documentation),
    }
  }

  test.each(Object.keys(handles))('shows documentation for every method of %s', (handle) => {
    const empty = names.filter((name) => shown(`${handle}.${name}`).doc === '')
    expect(empty).toEqual([])
    expect(shown(`${handle}.renameTable`).doc).toContain('Renames a table, and moves it')
    expect(shown(`${handle}.renameTable`).type).toContain('RenameTableRequest')
  })

  test('shows documentation for every field of every request and response', () => {
    const fields = definitions.flatMap(({ name, request, response }) => [
      ...Object.keys(entriesOf(request)).map((field) => `${name}Request.${field}`),
      ...Object.keys(entriesOf(response)).map((field) => `${name}Response.${field}`),
    ])
    expect(fields.length).toBeGreaterThan(300)
    expect(fields.filter((field) => shown(field).doc === '')).toEqual([])
  })

  test('shows documentation for a field where a request is written', () => {
    const call = 'void catalog.renameTable({ id: [], new_table_name: "" })'
    expect(shown(call, call.indexOf('new_table_name')).doc).toBe('The new name of the table.')
    const read = 'void tx.describeTable({ id: [], load_detailed_metadata: true })'
    expect(shown(read, read.indexOf('load_')).doc).toContain('version, schema, statistics')
  })
})

function entriesOf(schema: v.GenericSchema): object {
  return (schema as { entries?: object }).entries ?? {}
}
