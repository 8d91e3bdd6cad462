import { type ProjectKey, projectPath } from '../../stores/store.js';

const OVERFLOW_LABEL = 'other';

export type ProjectLabels = { readonly tenant: string; readonly project: string };

/**
 * A bounded set of labels: the first projects get their own, the rest share `other`. A label is never reassigned,
 * because a counter that moved between labels would decrease.
 */
export class BoundedLabelSet<T> {
  private readonly byProject = new Map<string, T>();
  private overflow: T | null = null;
  /** The last lookup: the commands of a batch are of one project, whose key is one object. */
  private last: { readonly key: ProjectKey; readonly value: T } | null = null;

  constructor(
    private readonly max: number,
    private readonly create: (labels: ProjectLabels) => T,
  ) {}

  forProject(key: ProjectKey): T {
    if (this.last?.key === key) return this.last.value;
    const value = this.lookUp(key);
    this.last = { key, value };
    return value;
  }

  private lookUp(projectKey: ProjectKey): T {
    const name = projectPath(projectKey);
    const existing = this.byProject.get(name);
    if (existing !== undefined) return existing;
    if (this.byProject.size >= this.max) {
      this.overflow ??= this.create({ tenant: OVERFLOW_LABEL, project: OVERFLOW_LABEL });
      return this.overflow;
    }
    const created = this.create({ tenant: projectKey.tenant_id, project: projectKey.project_id });
    this.byProject.set(name, created);
    return created;
  }

  all(): T[] {
    return [...this.byProject.values(), ...(this.overflow === null ? [] : [this.overflow])];
  }
}
