/** Something in the workspace is not as it must be. The message says what, and what to do. */
export class WorkspaceError extends Error {
  override readonly name = 'WorkspaceRefused';
}
