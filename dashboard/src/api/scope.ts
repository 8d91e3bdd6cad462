/** Tenant and project that the page shows, from its address: `?tenant=acme&project=shop`. */
export interface Scope {
  readonly tenant: string;
  readonly project: string;
}

export function scope(search: string = location.search): Scope {
  const asked = new URLSearchParams(search);
  return { tenant: asked.get('tenant') || 'default', project: asked.get('project') || '' };
}

/** The address of the page for another project. Keeps the view. */
export function addressOf({ tenant, project }: Scope): string {
  const asked = new URLSearchParams();
  if (tenant !== 'default') asked.set('tenant', tenant);
  asked.set('project', project);
  return `/?${asked}${location.hash}`;
}
