import { expect, it } from 'vitest'
import { describeWith } from '../../support/describe-with.ts'
import { limitEach } from '../../support/time-limit.ts'
import { knownFailures } from './judge.ts'
import { icebergRelease, kitClasses, runKit } from './kit.ts'
import { startIceberg } from './server.ts'

// Some hundred tests in Java, with a request or ten each.
limitEach(900)

/** Only these run, to find out why they fail. */
const methods = process.env.TABULARIUM_ICEBERG_METHODS?.split(',')

/** Tests that the kit leaves out by itself: it says of no server that it nests namespaces, for example. */
const leftOut = {
  tables: [
    ...['createAndDropEmptyNamespace', 'listNamespacesWithEmptyNamespace', 'listTablesInEmptyNamespace'],
    ...[
      'namespacePropertiesOnEmptyNamespace',
      'testDropNamespaceWithNestedNamespace',
      'testListNestedNamespaces',
    ],
    ...['createTableInUniqueLocation', 'testNamespaceWithSlash', 'testTableNameWithSlash'],
  ],
  views: ['listViewsInEmptyNamespace'],
}

describeWith(`the compatibility kit of Iceberg ${icebergRelease}`, await kitClasses(), () => {
  it.each([
    ['tables', 106],
    ['views', 51],
  ] as const)('passes for %s', async (suite, count) => {
    const server = await startIceberg()
    const properties = { 'supports-names-with-dot': 'true' }
    const folder = server.warehouse
    const options = { properties, folder, ...(methods !== undefined && { methods }) }
    const result = await runKit(server.url, suite, options).finally(() => server.close())
    const known = knownFailures(suite)
    const unknown = result.failed.filter(({ name }) => known[name] === undefined)
    expect(unknown.map(({ name, message, line }) => `${name} (${line}): ${message}`)).toEqual([])
    if (methods !== undefined) return
    // One that passes is known no longer.
    expect(result.failed.map(({ name }) => name).sort()).toEqual(Object.keys(known).sort())
    expect(result.aborted.map(({ name }) => name).sort()).toEqual([...leftOut[suite]].sort())
    expect(result.tests).toBe(count)
  })
})
