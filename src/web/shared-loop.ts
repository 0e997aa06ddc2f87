/** Replaces `src/base/scheduling/shared-loop.ts`. */
export const isLoopShared: boolean = false
