import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'

/*
 * Builds `dist`: one bundle for each entry point, and type declarations. Bundled, because loading a hundred
 * small modules takes Node longer than running them; what an entry point loads lazily stays a file of its own.
 */

const { exports, bin } = JSON.parse(readFileSync('package.json', 'utf8'))
const outputs = [...Object.values(exports), ...Object.values(bin)]
  .map((entry) => entry.default ?? entry)
  .filter((path) => path.endsWith('.js'))
const entryPoints = outputs.map((path) => path.replace(/^(\.\/)?dist\//, 'src/').replace(/\.js$/, '.ts'))

rmSync('dist', { recursive: true, force: true })
await build({
  // Worker threads are started from a file of their own.
  entryPoints: [...new Set([...entryPoints, 'src/data/scan/worker.ts', 'src/tour.ts'])],
  outdir: 'dist',
  outbase: 'src',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  sourcemap: true,
})
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { stdio: 'inherit' })
