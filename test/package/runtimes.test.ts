import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { install, packedProject } from '../support/packed.ts'
import { runBy, runtimes } from '../support/runtimes.ts'
import { limitEach } from '../support/time-limit.ts'

// It packs the package, and installs runtimes.
limitEach(240)

/*
 * The package in the runtimes that it promises, besides the Node of all other tests: the walk through a catalog on disk,
 * and every entry point.
 */

const program = readFileSync(new URL('programs/every-entry-point.mjs', import.meta.url), 'utf8')
const worked = 'lamp sofa shop$journal shop$orders TableNotFound true true'
let project: string

beforeAll(async () => {
  project = await packedProject()
  install(project, 'vega-datasets')
  writeFileSync(join(project, 'try.mjs'), program)
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

describe.each(runtimes)('$name', (runtime) => {
  const hasDisk = !runtime.name.startsWith('Deno')

  it('runs every entry point', async ({ skip }) => {
    const printed = await runBy(runtime, project, ['try.mjs', join(project, `disk ${runtime.name}`)])
    if (printed === undefined) return skip()
    expect(JSON.parse(printed)).toEqual({
      client: worked,
      memory: worked,
      fake: worked,
      disk: hasDisk
        ? worked
        : "Unsupported: A catalog in a directory needs Node or Bun. In Deno, open 'memory:', the URL of a database, or that of a server (https://…).",
    })
  })

  it.runIf(hasDisk)('walks through a catalog on disk', async ({ skip }) => {
    const printed = await runBy(runtime, project, [
      'source/dist/tabularium/tour.js',
      join(project, `walk ${runtime.name}`),
    ])
    if (printed === undefined) return skip()
    expect(printed).toContain('its fragments are Arrow files that any Arrow tool opens')
  })
})
