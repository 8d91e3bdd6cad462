import type { ReactNode } from 'react';

/** A region whose content may be larger than the region. It can be scrolled by keyboard. */
export const ScrollRegion = ({
  name,
  className,
  children,
}: {
  name: string;
  className: string;
  children: ReactNode;
}) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
  <section className={className} aria-label={name} tabIndex={0}>
    {children}
  </section>
);
