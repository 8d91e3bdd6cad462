/** Tenant and project that the page shows, from its address: `?tenant=acme&project=shop`. */
interface Scope {
  readonly tenant: string;
  readonly project: string;
}

export function scope(search: string = location.search): Scope {
  const params = new URLSearchParams(search);
  return { tenant: params.get('tenant') || 'default', project: params.get('project') || '' };
}

/** The address of the page for another project. Keeps the view. */
export function addressOf({ tenant, project }: Scope): string {
  const params = new URLSearchParams();
  if (tenant !== 'default') params.set('tenant', tenant);
  params.set('project', project);
  return `/?${params}${location.hash}`;
}
