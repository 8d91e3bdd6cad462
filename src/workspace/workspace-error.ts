/** An invalid workspace. The message says what is wrong and what to do. */
export class WorkspaceError extends Error {
  override readonly name = 'WorkspaceRefused';
}
