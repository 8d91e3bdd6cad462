/** What a project can be; it decides the profile that its features work by. */
export const PROJECT_KINDS = ['application', 'library', 'service', 'data-pipeline'] as const;
export type ProjectKind = (typeof PROJECT_KINDS)[number];
