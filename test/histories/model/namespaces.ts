import { dropAll } from './dropped.ts'
import {
  changeProperties,
  findNamespace,
  lookUp,
  newKey,
  Refused,
  recorded,
  requireFree,
  type State,
  walk,
} from './state.ts'
import type { Request } from './types.ts'

export const namespaces = {
  createNamespace(state: State, { id, mode, properties: given }: Request<'createNamespace'>) {
    const properties = given ?? {}
    if (id.length === 0) throw new Refused('NamespaceAlreadyExists')
    const parent = findNamespace(state, id.slice(0, -1))
    const existing = lookUp(state, id)
    if (existing?.kind === 'namespace' && (mode === 'ExistOk' || mode === 'exist_ok')) {
      return { properties: existing.properties }
    }
    if (existing?.kind === 'namespace' && mode === 'Overwrite') dropAll(state, existing, id)
    else requireFree(state, id, 'NamespaceAlreadyExists')
    parent.children.set(id.at(-1)!, {
      kind: 'namespace',
      key: newKey(state),
      properties,
      children: new Map(),
    })
    return { properties, ...recorded(state, 'CreateNamespace', id) }
  },

  describeNamespace: (state: State, { id }: Request<'describeNamespace'>) => ({
    properties: findNamespace(state, id).properties,
  }),

  updateNamespaceProperties(state: State, request: Request<'updateNamespaceProperties'>) {
    const { id } = request
    if (id.length === 0) throw new Refused('InvalidInput')
    const namespace = findNamespace(state, id)
    return changeProperties(state, { operation: 'UpdateNamespaceProperties', id }, namespace, request)
  },

  namespaceExists(state: State, { id }: Request<'namespaceExists'>) {
    findNamespace(state, id)
    return {}
  },

  dropNamespace(
    state: State,
    { id, mode = 'Fail', behavior = 'Restrict' }: Request<'dropNamespace'>,
  ): object {
    if (id.length === 0) throw new Refused('InvalidInput')
    if (mode === 'Skip' && lookUp(state, id)?.kind !== 'namespace') return {}
    const namespace = findNamespace(state, id)
    const { properties, children } = namespace
    if (children.size > 0 && behavior === 'Restrict') throw new Refused('NamespaceNotEmpty')
    dropAll(state, namespace, id)
    findNamespace(state, id.slice(0, -1)).children.delete(id.at(-1)!)
    return { properties, transaction_id: [recorded(state, 'DropNamespace', id, namespace).transaction_id] }
  },

  listNamespaces: (state: State, { id }: Request<'listNamespaces'>) => ({
    namespaces: Array.from(walk(findNamespace(state, id), []))
      .filter(([path, { kind }]) => kind === 'namespace' && path.length === 1)
      .map(([path]) => path[0]),
  }),
}
