"""What the ICY paper measures: which compositional languages are acquired fast, and what metrics say of them."""
