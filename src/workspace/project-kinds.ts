/** The kinds of projects. The kind determines the default profile of its features. */
export const PROJECT_KINDS = ['application', 'library', 'service', 'data-pipeline'] as const;
export type ProjectKind = (typeof PROJECT_KINDS)[number];
