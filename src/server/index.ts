/**
 * A catalog over HTTP: {@link serve} it, mount it in a Fastify application with {@link catalogPlugin}, or call it as a
 * function with {@link fetchHandler}.
 *
 * @module
 */
export type { AuthOptions, TokenVerifier } from './auth/auth.ts'
export type { JwtOptions } from './auth/jwt.ts'
export type { Principal, RequestInfo } from './auth/principal.ts'
export type { StaticToken } from './auth/tokens.ts'
export { type FetchCaller, type FetchHandler, fetchHandler } from './fetch.ts'
export type { AuthorizeRequest, HttpOptions, LimitOptions, PluginOptions, RefusedRequest } from './options.ts'
export { type OpenApiDocument, openApiDocument } from './pages/openapi.ts'
export { catalogPlugin } from './plugin.ts'
export { type RunningServer, type ServeOptions, serve, type TimeoutOptions } from './serve.ts'
