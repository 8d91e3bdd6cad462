/** The kinds of projects. The kind determines the default profile of its features. */
export const PROJECT_KINDS = ['application', 'library', 'service', 'data-pipeline'] as const;
export type ProjectKind = (typeof PROJECT_KINDS)[number];

/** The default profile that `gen init` writes for a kind of project. */
export const initialProfileOf = (kind: ProjectKind): string => (kind === 'library' ? 'full' : 'standard');
