import { build, type Plugin } from 'esbuild'
import { forNode } from './bundle.ts'

/** Replaces the package's sources of random numbers by seeded ones. */
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
    // In one module, nothing is loaded lazily, which would take a time that no seed decides.
    splitting: false,
    // The test runner does not transform CommonJS modules.
    format: 'cjs',
    ignoreAnnotations: true,
    sourcemap: true,
    logOverride: { 'empty-import-meta': 'silent' },
    inject: ['test/simulation/random-globals.ts'],
    define: { 'Math.random': 'simulatedRandom', 'crypto.getRandomValues': 'simulatedBytes' },
    plugins: [seeded],
  })
}
