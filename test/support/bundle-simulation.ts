import { build, type Plugin } from 'esbuild'
import { forNode } from './bundle.ts'

/** Random numbers of the package come from a seed. */
const seeded: Plugin = {
  name: 'seeded',
  setup({ onResolve, initialOptions: { absWorkingDir } }) {
    onResolve({ filter: /^node:crypto$/ }, ({ importer }) =>
      importer.startsWith(`${absWorkingDir}/src/`) || importer.startsWith(`${absWorkingDir}src/`)
        ? { path: `${absWorkingDir}/test/simulation/random.ts` }
        : undefined,
    )
  },
}

/** Bundles the simulation and the package into one module. */
export async function bundleSimulation(root: string, outfile: string): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: ['test/simulation/index.ts'],
    outfile,
    ...forNode,
    // In one module, nothing is loaded later: that would take a time which no seed decides.
    splitting: false,
    // The runner of tests leaves what is required alone.
    format: 'cjs',
    ignoreAnnotations: true,
    sourcemap: true,
    logOverride: { 'empty-import-meta': 'silent' },
    inject: ['test/simulation/random-globals.ts'],
    define: { 'Math.random': 'simulatedRandom', 'crypto.getRandomValues': 'simulatedBytes' },
    plugins: [seeded],
  })
}
