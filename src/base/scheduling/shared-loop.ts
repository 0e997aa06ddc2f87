/**
 * Whether one event loop calls back whoever asked it. In edge runtimes, callbacks of a request that has ended never
 * come. So `src/web/shared-loop.ts` replaces this file there: no work waits for the turn of another.
 */
export const isLoopShared: boolean = true
