import type { ProjectKey } from '../../stores/store.js';

export const OTHER = 'other';

export interface ProjectLabels {
  readonly tenant: string;
  readonly project: string;
}

/**
 * Labels in a bounded number: the first projects that come to work have their own, the rest share `other`. Who has a
 * label keeps it, since a counter that moved from one label to another would run backwards.
 */
export class LabelSet<T> {
  private readonly known = new Map<string, Map<string, T>>();
  private size = 0;
  private rest: T | null = null;

  constructor(
    private readonly max: number,
    private readonly make: (labels: ProjectLabels) => T,
  ) {}

  of({ tenant_id, project_id }: ProjectKey): T {
    const found = this.known.get(tenant_id)?.get(project_id);
    if (found !== undefined) return found;
    if (this.size >= this.max) {
      this.rest ??= this.make({ tenant: OTHER, project: OTHER });
      return this.rest;
    }
    this.size += 1;
    const made = this.make({ tenant: tenant_id, project: project_id });
    const ofTenant = this.known.get(tenant_id) ?? new Map<string, T>();
    this.known.set(tenant_id, ofTenant.set(project_id, made));
    return made;
  }

  *all(): Generator<T> {
    for (const ofTenant of this.known.values()) yield* ofTenant.values();
    if (this.rest !== null) yield this.rest;
  }
}
