import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { forNode, startedApart } from './bundle.ts'
import { bundleSimulation } from './bundle-simulation.ts'
import { isRunning, removeLeftFolders } from './folders.ts'

/*
 * Scripts that tests start as separate processes. They are bundled once per run: a process takes seconds to load
 * hundreds of sources, and tests start many processes.
 */

const scripts = [
  'src/cli/index.ts',
  'test/stores/children/change-in-turn.ts',
  'test/stores/children/commit-batches.ts',
  'test/stores/children/end-early.ts',
  'test/stores/children/hold-store.ts',
  'test/stores/children/hold-unlocked.ts',
  'test/stores/children/increment.ts',
  'test/stores/children/open-damaged.ts',
  'test/stores/children/put-on-demand.ts',
  'test/contents/cache/children/fill-cache.ts',
  'test/contents/children/put-objects.ts',
  'test/server/children/changes.ts',
  'test/catalog/lance/clients/server.ts',
  'test/catalog/lance/clients/row-writer.ts',
  'test/catalog/lance/clients/writer.ts',
  'test/catalog/lance/kills-child.ts',
  'test/catalog/lance/arriving-kills-child.ts',
  'test/catalog/lance/few-files-child.ts',
  'test/soak/children/ask.ts',
  'test/soak/children/stall.ts',
  'test/processes/changes-child.ts',
  'test/catalog/rows/children/streams.ts',
  'test/engine/parquet/children/read-damaged.ts',
  'test/engine/table/children/memory.ts',
  'test/testing/hostile/timeouts/by-node.ts',
  'test/processes/clock-child.ts',
  'test/processes/crash-child.ts',
  'test/processes/dropped-child.ts',
  'test/processes/retention-child.ts',
  'test/processes/full-disk-child.ts',
  'test/processes/inserts-child.ts',
  'test/processes/linear-child.ts',
  'test/processes/opening-child.ts',
  'test/processes/race-child.ts',
  'test/processes/shares-child.ts',
  'test/processes/transactions-child.ts',
  'test/processes/upkeep-child.ts',
  'test/processes/upkeep-holder-child.ts',
  'test/processes/versions-child.ts',
] as const

export type Script = (typeof scripts)[number]

const root = fileURLToPath(new URL('../..', import.meta.url))
// Within the package, so that its own package.json and the packages it depends on are found.
const bundles = join(root, 'test/.scripts')
// Each run has its own folder, since concurrent runs of the same clone may bundle other sources.
const inherited = process.env.SCRIPTS_OF_RUN
const folder = inherited ?? join(bundles, String(process.pid))
process.env.SCRIPTS_OF_RUN = folder

/** What a run of the tests makes for all of its files. It is removed when the run ends. */
export const folderOfRun = folder

/** The path of the simulation's bundle, which includes the package. */
export const simulationPath = join(folder, 'simulation.cjs')

/** The path of a script that Node can run, after {@link bundleScripts} in this process or an ancestor. */
export function scriptPath(script: Script): string {
  return join(folder, script.replace(/\.ts$/, '.mjs'))
}

/** Bundles the scripts for this process and its children. Removes them when it ends. */
export default async function bundleScripts(): Promise<void> {
  if (inherited !== undefined) return
  removeLeft()
  await removeLeftFolders()
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  // Servers need the built page.
  execFileSync(process.execPath, ['build/page.js'], { cwd: root })
  await build({
    absWorkingDir: root,
    entryPoints: [
      ...scripts.map((script) => ({ in: script, out: script.replace(/\.ts$/, '') })),
      ...startedApart,
    ],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    ...forNode,
    // The package declares no side effects of imports, but scripts have some.
    ignoreAnnotations: true,
  })
  await bundleSimulation(root, simulationPath)
}

/** Removes the folders of killed runs. */
function removeLeft(): void {
  mkdirSync(bundles, { recursive: true })
  for (const name of readdirSync(bundles))
    if (!isRunning(Number(name))) rmSync(join(bundles, name), { recursive: true, force: true })
}
