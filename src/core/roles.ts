/** Roles of a credential. The server decides what each role may do. */
export const ROLES = ['viewer', 'agent', 'runner', 'reviewer', 'admin', 'operator'] as const;
export type Role = (typeof ROLES)[number];
