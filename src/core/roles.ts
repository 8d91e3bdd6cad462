/** The access roles of credentials. The server decides what each may do. Not related to agent roles. */
export const ROLES = ['viewer', 'agent', 'runner', 'reviewer', 'admin', 'operator'] as const;
export type Role = (typeof ROLES)[number];
