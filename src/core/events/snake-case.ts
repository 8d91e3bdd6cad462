/** `IterationCompleted` and `iteration_completed` are one type; an all-caps type such as `CLAIM_ACQUIRED` is unchanged. */
export function snakeCase(type: string): string {
  if (!/[a-z]/.test(type)) return type;
  return type
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}
