import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

/*
 * Builds the page to look after a catalog, `dist/page`, or `page` in the folder that is named. It runs in browsers, and so
 * is a bundle of its own.
 */

const outdir = join(process.argv[2] ?? 'dist', 'page')

await build({
  entryPoints: [
    { in: 'src/page/main.tsx', out: 'app' },
    { in: 'src/page/style.css', out: 'app' },
  ],
  outdir,
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: ['chrome120', 'firefox121', 'safari17'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
})
copyFileSync('src/page/index.html', join(outdir, 'index.html'))
