/** The agent of a project whose coordination file says that a single agent owns the log, and its default role. */
export const SINGLE_AGENT = { agent_id: 'primary', agent_role: 'full_stack' } as const;
