import type { ProjectKey } from '../../stores/store.js';

const OVERFLOW_LABEL = 'other';

export type ProjectLabels = { readonly tenant: string; readonly project: string };

/**
 * A bounded set of labels: the first projects get their own, the rest share `other`. A label is never reassigned,
 * because a counter that moved between labels would decrease.
 */
export class BoundedLabelSet<T> {
  private readonly byTenant = new Map<string, Map<string, T>>();
  private size = 0;
  private overflow: T | null = null;

  constructor(
    private readonly max: number,
    private readonly create: (labels: ProjectLabels) => T,
  ) {}

  forProject({ tenant_id, project_id }: ProjectKey): T {
    const found = this.byTenant.get(tenant_id)?.get(project_id);
    if (found !== undefined) return found;
    if (this.size >= this.max) {
      this.overflow ??= this.create({ tenant: OVERFLOW_LABEL, project: OVERFLOW_LABEL });
      return this.overflow;
    }
    this.size += 1;
    const made = this.create({ tenant: tenant_id, project: project_id });
    const ofTenant = this.byTenant.get(tenant_id) ?? new Map<string, T>();
    this.byTenant.set(tenant_id, ofTenant.set(project_id, made));
    return made;
  }

  *all(): Generator<T> {
    for (const ofTenant of this.byTenant.values()) yield* ofTenant.values();
    if (this.overflow !== null) yield this.overflow;
  }
}
