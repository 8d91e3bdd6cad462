import type { ReactNode } from 'react';

/** What may be wider or longer than its container. It can be scrolled by keyboard. */
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
