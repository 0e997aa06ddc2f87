import type { OpenApiDocument } from './openapi.ts'
import type { JsonSchema, OpenApiOperation } from './openapi-schemas.ts'

/** The document as static HTML, without scripts and external resources. */
export function docsPage(document: OpenApiDocument, hasPage = false): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) => {
    const [first, ...others] = Object.keys(methods)
    return [{ path, methods: [first!, ...others], operation: methods[first!]! }]
  })
  const tags = [...new Set(operations.flatMap(({ operation }) => operation.tags))]
  const schemas = (document.components as { schemas: Readonly<Record<string, JsonSchema>> }).schemas
  const { title, version, description } = document.info
  const contents = tags
    .map((tag) => {
      const links = operations
        .filter(({ operation }) => operation.tags.includes(tag))
        .map(({ operation: { operationId, summary } }) => {
          const name = `<a href="#${operationId}">${escaped(operationId)}</a>`
          return isUnsupported(summary) ? `<s>${name}</s>` : name
        })
      return `<p><b>${escaped(tag)}</b> ${links.join(' ')}</p>`
    })
    .join('\n')
  const sections = operations.map((item) => section(item, schemas)).join('\n')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escaped(title)} <small>${escaped(version)}</small></h1>
<p>${escaped(description)} The same as a machine reads it: <a href="openapi.json">openapi.json</a>.</p>
<p>${document.security === undefined ? open : credentials}</p>
${hasPage ? '<p><a href="./">Look at the catalog</a>: its namespaces, tables, rows and versions.</p>' : ''}
<nav>${contents}</nav>
${sections}
</main>
</body>
</html>
`
}

const credentials = 'Send credentials as <code>Authorization: Bearer</code>, or as <code>x-api-key</code>.'
const open = 'This server asks for no credentials, and answers its own machine only.'

interface Item {
  readonly path: string
  readonly methods: readonly string[]
  readonly operation: OpenApiOperation
}

function section({ path, methods, operation }: Item, schemas: Readonly<Record<string, JsonSchema>>): string {
  const { operationId, summary, parameters, requestBody, responses } = operation
  const { 200: success, ...failures } = responses
  return `<section id="${operationId}">
<h2>${escaped(operationId)}${isUnsupported(summary) ? ' <small class="unsupported">not supported</small>' : ''}</h2>
<p>${escaped(summary)}</p>
<p>${methods.map((method) => `<b class="method">${method.toUpperCase()}</b>`).join(' ')} <code>${escaped(path)}</code></p>
${table(
  'Parameters',
  parameters.map(({ name, in: where, schema, description }) => [
    `<code>${escaped(name)}</code>`,
    escaped(where),
    escaped(typeOf(schema)),
    escaped(description),
  ]),
)}
${requestBody ? `<h3>Request body</h3>${content(requestBody.content, schemas)}` : ''}
<h3>Response</h3>
${content(success!.content, schemas)}
${table(
  'Errors',
  Object.entries(failures).map(([status, failure]) => [status, escaped(failure.description)]),
)}
</section>`
}

function content(
  types: Readonly<Record<string, { readonly schema: JsonSchema }>>,
  schemas: Readonly<Record<string, JsonSchema>>,
): string {
  return Object.entries(types)
    .map(([type, { schema }]) => {
      const shown = resolve(schema, schemas)
      return `<p><code>${escaped(type)}</code> ${escaped(typeOf(shown))}</p>${fields(shown)}`
    })
    .join('\n')
}

/** Whether an operation is one that the catalog does not support, by the end of its summary. */
function isUnsupported(summary: string): boolean {
  return summary.endsWith(' Not supported.')
}

function resolve(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined
  return name === undefined ? schema : (schemas[name] ?? schema)
}

/** The properties of an object, and of the objects within it. */
function fields(schema: JsonSchema): string {
  const inner = objectWithin(schema)
  const properties = Object.entries((inner?.properties ?? {}) as Readonly<Record<string, JsonSchema>>)
  if (properties.length === 0) return ''
  const required = new Set((inner?.required ?? []) as readonly string[])
  const items = properties.map(
    ([name, property]) =>
      `<li><code>${escaped(name)}</code> <i>${escaped(typeOf(property))}${required.has(name) ? ', required' : ''}</i>${fields(property)}</li>`,
  )
  return `<ul>${items.join('')}</ul>`
}

function objectWithin(schema: JsonSchema): JsonSchema | undefined {
  if (schema.properties) return schema
  const inner = [schema.items, ...((schema.anyOf ?? []) as readonly unknown[])]
  for (const candidate of inner) {
    const found = typeof candidate === 'object' && candidate !== null && objectWithin(candidate as JsonSchema)
    if (found) return found
  }
  return undefined
}

function typeOf(schema: JsonSchema): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((word) => JSON.stringify(word)).join(' | ')
  if (Array.isArray(schema.anyOf))
    return schema.anyOf.map((option) => typeOf(option as JsonSchema)).join(' or ')
  if (schema.type === 'array') return `list of ${typeOf((schema.items ?? {}) as JsonSchema)}`
  if (schema.additionalProperties && typeof schema.additionalProperties === 'object') {
    return `map of string to ${typeOf(schema.additionalProperties as JsonSchema)}`
  }
  return typeof schema.type === 'string' ? schema.type : 'bytes or any value'
}

function table(title: string, rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const body = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('')
  return `<h3>${title}</h3><table>${body}</table>`
}

function escaped(text: unknown): string {
  return String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 1rem; }
nav a { margin-right: .5rem; white-space: nowrap; }
section { border-top: 1px solid #8886; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid #8884; padding: .2rem .6rem .2rem 0; vertical-align: top; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
td code { white-space: nowrap; }
.method { border: 1px solid #8888; border-radius: .3rem; font-size: .8rem; padding: 0 .4rem; }
small { color: #777; font-weight: normal; }
.unsupported { border: 1px dashed #8888; border-radius: .3rem; font-size: .8rem; padding: 0 .4rem; }
h3 { font-size: 1rem; margin: 1rem 0 .2rem; }
ul { margin: .2rem 0; }
`
