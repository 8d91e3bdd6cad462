import { type ReactNode, useState } from 'react';

/** Content that is made, and read from the server, when it is opened. */
export function Disclosure({ title, children }: { title: ReactNode; children: () => ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="disclosure" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen ? children() : null}
    </details>
  );
}
